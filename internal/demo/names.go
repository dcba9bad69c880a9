package demo

// The shop's customers live in these countries. Mail addresses end in .example,
// which is nobody's.
var places = []struct {
	country        string
	first, last    []string
	cities         []string
	companyEndings []string
}{
	{"SE", words("Anna Erik Maria Lars Karin Johan Eva Anders Sofia Per Ingrid Nils Elsa Gustav Linnea Oskar"),
		words("Lindqvist Andersson Bergstrom Nyberg Sandberg Ekholm Forsberg Hedlund Lundgren Wallin Norberg Sjodin Dahlberg Hallberg"),
		words("Stockholm Gothenburg Malmo Uppsala Lund Orebro"), []string{"AB", "Interiors AB", "Hotell AB"}},
	{"DE", words("Julia Thomas Katrin Stefan Monika Andreas Lena Markus Birgit Jonas Petra Felix Clara Matthias Hanna Tobias"),
		words("Schneider Fischer Weber Wagner Becker Hoffmann Richter Klein Neumann Schwarz Kruger Vogel Brandt Seidel"),
		words("Berlin Hamburg Munich Cologne Leipzig Freiburg"), []string{"GmbH", "Wohnen GmbH", "Hotel GmbH"}},
	{"FR", words("Camille Julien Claire Antoine Elodie Nicolas Sophie Mathieu Chloe Hugo Manon Pierre Juliette Olivier Margaux Luc"),
		words("Moreau Laurent Girard Roussel Fontaine Chevalier Lambert Mercier Blanchard Garnier Faure Renaud Marchand Perrin"),
		words("Paris Lyon Nantes Toulouse Lille Bordeaux"), []string{"SARL", "Maison SARL", "Hotels SAS"}},
	{"NL", words("Sanne Daan Lotte Bram Femke Ruben Anouk Jeroen Marieke Thijs Iris Koen Eline Sander Roos Pieter"),
		words("Visser Bakker Dekker Mulder Hendriks Vermeer Kuipers Postma Brouwer Dijkstra Hoekstra Schouten Willems Maas"),
		words("Amsterdam Utrecht Rotterdam Haarlem Groningen Breda"), []string{"BV", "Interieur BV", "Horeca BV"}},
	{"IE", words("Aoife Conor Niamh Sean Ciara Declan Orla Brian Sinead Cormac Grainne Eoin Maeve Ronan Deirdre Kevin"),
		words("Byrne Doyle Gallagher Kavanagh Nolan Brennan Keane Whelan Farrell Molloy Sheridan Tierney Quinlan Hogan"),
		words("Dublin Cork Galway Limerick Kilkenny Sligo"), []string{"Ltd", "Guesthouses Ltd", "Interiors Ltd"}},
	{"IT", words("Giulia Marco Chiara Luca Francesca Matteo Elena Davide Martina Paolo Silvia Andrea Alessia Riccardo Sara Pietro"),
		words("Ferrari Bianchi Colombo Ricci Marino Greco Conti Gallo Rinaldi Barbieri Fontana Moretti Caruso Leone"),
		words("Milan Turin Bologna Verona Florence Genoa"), []string{"Srl", "Arredi Srl", "Alberghi Srl"}},
	{"DK", words("Freja Mads Ida Rasmus Emma Anders Signe Jakob Astrid Mikkel Laura Kasper Maja Henrik Nanna Soren"),
		words("Holm Kjeldsen Mortensen Vestergaard Lauridsen Dahl Friis Skov Winther Bech Thomsen Krogh Juhl Lassen"),
		words("Copenhagen Aarhus Odense Aalborg Vejle Roskilde"), []string{"ApS", "Bolig ApS", "Hotel A/S"}},
	{"AT", words("Lisa Florian Verena Lukas Magdalena Georg Theresa Martin Johanna Simon Barbara Philipp Elisabeth Wolfgang Nina Bernhard"),
		words("Gruber Steiner Moser Hofer Leitner Berger Egger Wallner Brunner Auer Reiter Haas Lechner Pichler"),
		words("Vienna Graz Linz Salzburg Innsbruck Klagenfurt"), []string{"GmbH", "Einrichtung GmbH", "Gastro GmbH"}},
}

// products are what the shop sells: a name and its price in cents.
var products = []struct {
	code, name string
	cents      int64
}{
	{"CHR", "Dining chair", 12900}, {"ARM", "Armchair", 44900}, {"SOF", "Two-seat sofa", 89900}, {"CRN", "Corner sofa", 164900},
	{"TBL", "Dining table", 64200}, {"SID", "Side table", 15900}, {"DSK", "Writing desk", 38500}, {"SHF", "Bookshelf", 27900},
	{"BED", "Bed frame", 72900}, {"MAT", "Mattress", 54900}, {"NGT", "Bedside table", 13900}, {"WRD", "Wardrobe", 98900},
	{"LMP", "Floor lamp", 17900}, {"PND", "Pendant lamp", 12400}, {"RUG", "Wool rug", 32900}, {"MIR", "Wall mirror", 14900},
	{"CUS", "Cushion", 2990}, {"THR", "Throw", 5990}, {"CUR", "Curtain pair", 8450}, {"VAS", "Vase", 3450},
	{"BEN", "Hallway bench", 21900}, {"STO", "Bar stool", 11900}, {"CAB", "Sideboard", 79500}, {"OUT", "Garden table", 49900},
	{"LNG", "Garden lounger", 36900},
}

var finishes = words("oak walnut ash birch black white grey green blue terracotta")

var sizes = words("S M L XL")

// suppliers are whom the shop buys from.
var suppliers = []struct{ name, account, contact string }{
	{"Holmquist Tra AB", "4471-HQ", "Eva Nyberg"},
	{"Brandt Polster GmbH", "4471-BP", "Jonas Seidel"},
	{"Ateliers Fontaine", "4471-AF", "Claire Renaud"},
	{"Ekholm Snickeri AB", "4471-ES", "Nils Wallin"},
	{"Vogel Leuchten GmbH", "4471-VL", "Petra Klein"},
	{"Tissages Mercier", "4471-TM", "Luc Garnier"},
	{"Sjodin Metall AB", "4471-SM", "Karin Hedlund"},
	{"Whitcombe Glass Ltd", "4471-WG", "Alice Farrow"},
}
